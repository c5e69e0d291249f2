"""Results as people read them: one table model, one small renderer for each output."""
