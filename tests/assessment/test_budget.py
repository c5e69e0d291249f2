"""How to split a budget: the closed form against a search over all splits."""

import math

import pytest

import ranklens as rl


def worth(human, machine, rho):
    return human / (1 - rho**2 * machine / (human + machine))


@pytest.mark.parametrize(
    ("rho", "human", "machine", "budget"), [(0.8, 10, 0.1, 1000), (0.6, 5, 0.5, 2000), (0.9, 20, 1, 3000)]
)
def test_no_other_split_is_worth_more(rho, human, machine, budget):
    plan = rl.plan_labels(rho, human, machine, budget)
    best = max(
        (worth(n, int((budget - n * human) / machine) - n, rho), n)
        for n in range(20, int(budget / (human + machine)))
        if int((budget - n * human) / machine) - n > 0
    )
    assert plan.effective == pytest.approx(best[0], rel=0.01)
    assert plan.human == pytest.approx(best[1], abs=2)
    assert plan.cost <= budget


def test_the_cheapest_plan_for_a_goal():
    plan = rl.plan_labels(0.8, 10, 0.1, effective=200)
    assert plan.effective >= 200 * 0.999
    same = rl.plan_labels(0.8, 10, 0.1, budget=plan.cost)
    assert same.effective == pytest.approx(plan.effective, rel=0.02)


def test_ppi_python_agrees():
    ppi = pytest.importorskip("ppi_py")
    found = ppi.ppi_power(0.8, 0, 10, 0.1, budget=1000)
    plan = rl.plan_labels(0.8, 10, 0.1, 1000)
    assert plan.human == pytest.approx(found["n"], rel=0.03)


def test_a_model_that_is_not_worth_its_price():
    plan = rl.plan_labels(0.1, 1, 0.5, 100)
    assert (plan.human, plan.machine, plan.effective) == (100, 0, 100)
    assert "not worth their price" in str(plan)
    assert rl.plan_labels(-0.5, 10, 0.1, 500).machine == 0


def test_people_judge_at_least_twenty_queries_if_they_can():
    assert rl.plan_labels(0.99, 10, 0.1, 250).human == 20
    few = rl.plan_labels(0.9, 10, 0.01, 100)
    assert few.human < 20
    assert "raise the budget" in str(few)
    assert rl.plan_labels(0.99, 10, 0.001, effective=100).human >= 20


def test_the_width_of_the_interval():
    plan = rl.plan_labels(0.8, 10, 0.1, 1000, deviation=0.3)
    assert plan.half_width == pytest.approx(1.9876 * 0.3 / math.sqrt(plan.effective), rel=1e-3)
    assert f"± {plan.half_width:.3f}" in str(plan)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1.2, 1, 1, 10), "between -1 and 1"),
        ((0.5, 0, 1, 10), "cost_human=0"),
        ((0.5, 1, 1), "either budget or effective"),
    ],
)
def test_mistakes_are_refused(arguments, message):
    with pytest.raises(rl.InputError, match=message):
        rl.plan_labels(*arguments)
