#!/bin/bash
cat > /dev/null
cat <<'EOF'
{
  "permission": "deny",
  "user_message": "Commands with network access are not allowed.",
  "agent_message": "NO-NETWORK: use the files of the repository."
}
EOF
exit 0
