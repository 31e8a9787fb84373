for host in 127.0.0.1 ::1; do
  (exec 3<>"/dev/tcp/$host/$GANTRY_HEALTH_PORT") 2>/dev/null && exit 0
done
exit 1
