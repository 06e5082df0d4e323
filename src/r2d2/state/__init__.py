"""What a run leaves behind and the next one starts from. The form is documented in docs/state.md."""
