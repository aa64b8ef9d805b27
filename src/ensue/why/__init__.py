"""Why a query did not match: what each step of its pattern lost, and to which of its constraints."""
