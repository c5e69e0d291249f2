"""``python -m ranklens``."""

import sys

from ranklens.start import main

sys.exit(main())
