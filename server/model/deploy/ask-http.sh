export LC_ALL=C
unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY
exec 3>&1
report=$({
  if command -v curl >/dev/null; then
    # `-q` comes first: it ignores ~/.curlrc. `head` ends a transfer that is larger than anybody reads.
    began=${EPOCHREALTIME-}
    curl -q --silent --show-error --globoff --include --http1.1 --noproxy '*' --proto '=http,https' \
      --max-time "$GANTRY_HEALTH_TIMEOUT" --user-agent Gantry --url "$GANTRY_HEALTH_URL" |
      head -c "$GANTRY_HEALTH_BYTES" >&3
    code=${PIPESTATUS[0]} ended=${EPOCHREALTIME-}
    printf '\n%s %s' "$code" "${began:+$(( (${ended/./} - ${began/./}) / 1000 ))}"
  else
    printf '\nmissing'
  fi
} 2>&1)
printf '\ngantry-curl\n%s' "$report"
