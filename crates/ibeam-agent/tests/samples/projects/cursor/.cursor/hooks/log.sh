#!/bin/bash
input=$(cat)
event=$(printf "%s" "$input" | grep -o '"hook_event_name":"[A-Za-z]*"')
printf "%s\n" "$event" | cut -d'"' -f4 >> "$CURSOR_PROJECT_DIR/hooks.log"
