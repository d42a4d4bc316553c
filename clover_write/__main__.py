"""`python -m clover_write` is the same program as `clover-write`."""

from clover_write.cli import main

raise SystemExit(main())
