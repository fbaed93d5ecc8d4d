"""The version that every output carries."""

VERSION = "0.2.0"
