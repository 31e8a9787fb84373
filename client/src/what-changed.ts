/** What an approval is about, as details of its gate describe it. */
export type Seen = { covers: Record<string, unknown> | null; live: object | null }

const PARTS = {
  servers: 'the servers',
  steps: 'the steps',
  application: 'the settings of the application',
  variables: 'the variables',
  rollout: 'the rollout',
}

/** Between what a person saw and what would ship now: `the servers and the steps have`. */
export function whatChanged(seen: Seen, now: Seen): string {
  const differ = (one: unknown, other: unknown) => JSON.stringify(one) !== JSON.stringify(other)
  const parts = Object.entries(PARTS).flatMap(([part, name]) =>
    differ(seen.covers?.[part], now.covers?.[part]) ? name : [],
  )
  if (differ(seen.live, now.live)) parts.push('what is live on the servers')
  if (parts.length === 0) return 'something that it covers, such as the value of a variable, has'
  const listed = parts.join(', ').replace(/, ([^,]*)$/, ' and $1')
  return `${listed} ${listed === PARTS.rollout || listed.startsWith('what is') ? 'has' : 'have'}`
}
