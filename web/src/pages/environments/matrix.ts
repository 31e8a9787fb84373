// Servers × applications: what is live where. Pure.
import type { LiveRelease } from '#web/base/api/types.ts'
import { findDrift } from '#web/resources/applications/drift.ts'

type Named = { id: number; name: string }
export type Cell = { text: string; hasDrift: boolean; live: LiveRelease }
export type Matrix = { servers: Named[]; rows: { application: Named; cells: (Cell | undefined)[] }[] }

/** `web-2` comes before `web-10`. */
const BY_NAME = new Intl.Collator(undefined, { numeric: true })

/** `live[i]` belongs to `applications[i]`. Servers that the person may not see have no column. */
export function toMatrix(applications: readonly Named[], live: readonly LiveRelease[][]): Matrix {
  const byId = new Map(live.flat().flatMap(({ server }) => (server ? [[server.id, server] as const] : [])))
  const servers = [...byId.values()].toSorted((one, other) => BY_NAME.compare(one.name, other.name))
  const rows = applications.map((application, index) => {
    const ofApplication = live[index] ?? []
    const drift = findDrift(ofApplication)
    const cells = servers.map(({ id }) => {
      const at = ofApplication.findIndex(({ server }) => server?.id === id)
      if (at === -1) return undefined
      return { text: cellText(ofApplication[at]!), hasDrift: drift[at]!, live: ofApplication[at]! }
    })
    return { application, cells }
  })
  return { servers, rows }
}

function cellText({ state, commit, release_name }: LiveRelease): string {
  if (state === 'unknown') return 'Unknown'
  if (state === 'nothing') return 'Nothing live'
  return commit?.hash.slice(0, 8) ?? release_name ?? 'Live'
}
