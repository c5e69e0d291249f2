"""``python -m ranklens.cli``."""

import sys

from ranklens.cli.main import main

sys.exit(main())
