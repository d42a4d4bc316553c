"""The subcommands of `clover-write`, one file each: `add_parser` and `run`."""
