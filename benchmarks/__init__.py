"""One script a question; peers in the same run; results with what they were measured on."""
