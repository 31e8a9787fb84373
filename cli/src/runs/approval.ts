// What the approval of a run is about, as the API describes it. Pure.

export type Covered = {
  servers: { name: string; host: string | null; port: number | null }[]
  steps: { name: string; command: string | null }[]
  application: { install_dependencies_command: string | null; build_command: string | null } | null
  variables: string[]
  rollout: object | null
}
export type Approval = {
  subject: string | null
  covers: Covered | null
  live: object | null
  required: number
  is_preparing: boolean
  why_not: string | null
  decisions: {
    user: { name: string }
    decision: string
    comment: string | null
    lapsed_at: string | null
    counts: boolean
  }[]
}

const PARTS: [keyof Covered, string][] = [
  ['servers', 'the servers'],
  ['steps', 'the steps'],
  ['application', 'the settings of the application'],
  ['variables', 'the variables'],
  ['rollout', 'the rollout'],
]

/** `the servers and the steps have`. */
export function whatChanged(seen: Approval, now: Approval): string {
  const differ = (one: unknown, other: unknown) => JSON.stringify(one) !== JSON.stringify(other)
  const parts = PARTS.filter(([part]) => differ(seen.covers?.[part], now.covers?.[part])).map(
    ([, name]) => name,
  )
  if (differ(seen.live, now.live)) parts.push('what is live on the servers')
  if (parts.length === 0) return 'something that it covers, such as the value of a variable, has'
  const listed = parts.join(', ').replace(/, ([^,]*)$/, ' and $1')
  return `${listed} ${listed === 'the rollout' || listed.startsWith('what is') ? 'has' : 'have'}`
}
