"""The version that every output carries."""

VERSION = "0.1.0"
