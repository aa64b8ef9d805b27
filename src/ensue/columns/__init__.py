"""What an expression is worth over Arrow columns: the engine's own evaluation, apart from the reference's."""
