"""The main job, shown: a real server over stdio completes in real files."""
