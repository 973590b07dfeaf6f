from tests.attention_cases import one_thread

__all__ = ["one_thread"]
