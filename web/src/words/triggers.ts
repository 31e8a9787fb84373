export const TRIGGER_WORDS: Record<string, string> = {
  hook: 'Hook',
  manual: 'Person',
  retry: 'Retry',
  pipeline: 'Another action',
}
