"""Disk and processes: files written whole, results kept, tasks side by side."""
