// What a run says that waits for the checks of its commit, or ended there: the check, with a link to its page.
import { setTimeout as delay } from 'node:timers/promises'
import type { components, Gantry } from '@gantry/client'
import type { Action } from '../actions.ts'
import { oneLine } from '../table.ts'

type Details = components['schemas']['ChecksGateDetails']

const ASK_EVERY_MS = 5_000

const isAboutChecks = ({ status_reason_code }: Pick<Action, 'status_reason_code'>) =>
  status_reason_code === 'WAITING_CHECKS' || status_reason_code === 'FAILED_CHECKS'

/** 'Waiting for build (in_progress). https://ci.example.com/1'; null when the gate says nothing. Pure. */
export function describeChecks({ message, waiting_for, problem }: Details): string | null {
  const sentence = oneLine(message ?? problem ?? '')
  if (sentence === '') return null
  const link = webLink(waiting_for?.link)
  return link === null ? sentence : `${sentence} ${link}`
}

/** Hosts send any text; as a URL it has no control characters. */
function webLink(link: string | null | undefined): string | null {
  if (!link || !URL.canParse(link)) return null
  const { protocol, href } = new URL(link)
  return protocol === 'http:' || protocol === 'https:' ? href : null
}

/** Null for runs that neither wait for checks nor failed there. What cannot be read is no reason to hide the rest. */
export async function readChecks(
  gantry: Gantry,
  action: Pick<Action, 'id' | 'status_reason_code'>,
  signal?: AbortSignal,
): Promise<string | null> {
  if (!isAboutChecks(action)) return null
  try {
    const params = { path: { id: action.id } }
    const { gates } = await gantry.get('/actions/{id}/gates', { params, ...(signal && { signal }) })
    const checks = gates.find(({ gate }) => gate === 'checks')
    return checks ? describeChecks(checks.details as Details) : null
  } catch {
    return null
  }
}

/** Asks every few seconds while the run is at the gate, and says what has changed. */
export function followChecks(gantry: Gantry, actionId: number, say: (text: string | null) => void) {
  let asking: AbortController | undefined

  async function ask({ signal }: AbortController): Promise<void> {
    let said: string | null = null
    while (!signal.aborted) {
      const text = await readChecks(gantry, { id: actionId, status_reason_code: 'WAITING_CHECKS' }, signal)
      if (signal.aborted) return
      if (text !== null && text !== said) say(text)
      said = text ?? said
      await delay(ASK_EVERY_MS, undefined, { signal }).catch(() => {})
    }
  }

  function end(): void {
    asking?.abort()
    asking = undefined
  }

  return {
    /** With each reason that the run gets. */
    change(reason: string): void {
      if (reason === 'WAITING_CHECKS') {
        if (asking) return
        asking = new AbortController()
        void ask(asking)
      } else if (asking) {
        end()
        say(null)
      }
    },
    end,
  }
}
