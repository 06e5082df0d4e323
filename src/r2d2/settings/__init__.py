"""Settings: declared once, checked, and merged from defaults, file, environment and command line."""

from r2d2.settings.checks import size_in_bytes
from r2d2.settings.declared import Declaration, Settings, declarations
from r2d2.settings.load import CONFIG_FILE, config_in, load_settings, weakened_by_environment

__all__ = [
    "CONFIG_FILE",
    "Declaration",
    "Settings",
    "config_in",
    "declarations",
    "load_settings",
    "size_in_bytes",
    "weakened_by_environment",
]
