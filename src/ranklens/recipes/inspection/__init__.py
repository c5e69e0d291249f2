"""What files hold, as RankLens understands them."""
