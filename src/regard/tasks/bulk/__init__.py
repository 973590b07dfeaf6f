"""Large files translated chunk by chunk, by one worker or many: what is done stays done, whatever ends meanwhile."""
