// What somebody has to do elsewhere after a document was applied: paste secrets, authorize keys.
import type { components, Gantry } from '@gantry/client'
import { parse } from 'yaml'
import { printDetails } from '../details.ts'
import { plain, type Screen } from '../screen.ts'
import { collect, organizationsOf } from '../walk.ts'
import { type Change, placeOf } from './diff.ts'

type Applied = components['schemas']['Applied']

/** Secrets are shown here and never again. */
export function printNewHooks(screen: Screen, { secrets, changes }: Applied): void {
  for (const { path, url, secret } of secrets) {
    const change = changes.find((one) => one.path === path)!
    const isIncoming = url !== null
    screen.print()
    screen.print(
      screen.style('bold', `New ${isIncoming ? 'incoming' : 'outgoing'} hook ${plain(placeOf(change))}`),
    )
    printDetails(screen, [
      ['  URL', url],
      ['  Secret', secret],
    ])
    screen.note(isIncoming ? pasteAtSender(secret) : pasteAtReceiver(secret))
  }
}

const pasteAtSender = (secret: string | null) =>
  secret === null
    ? '  Enter the URL in the webhook settings of the sender. Anyone who knows it can start the pipeline.'
    : '  Enter both in the webhook settings of the sender. The secret is shown only now.'

const pasteAtReceiver = (secret: string | null) =>
  secret === null ? '' : '  The receiver verifies deliveries with this secret. It is shown only now.'

/** Generated keys open nothing before their public half is authorized. */
export async function printNewKeys(
  screen: Screen,
  gantry: Gantry,
  { changes }: Applied,
  document: string,
): Promise<void> {
  const generated = changes.filter(isGenerated).map(({ name }) => name)
  if (generated.length === 0) return
  const { organization } = parse(document) as { organization: string }
  const found = (await organizationsOf(gantry)).filter(
    ({ name, url_slug }) => name === organization || url_slug === organization,
  )
  if (found.length !== 1) return
  const params = { path: { id: found[0]!.id } }
  const credentials = await collect(gantry.list('/organizations/{id}/credentials', { params }))
  for (const { name, public_key } of credentials) {
    if (public_key === null || !generated.includes(name)) continue
    screen.print()
    screen.print(screen.style('bold', `New SSH key ${plain(name)}`))
    screen.print(plain(public_key))
    screen.note('  For servers, add it to ~/.ssh/authorized_keys; for a repository, to its deploy keys.')
  }
}

const isGenerated = ({ verb, type, fields }: Change) =>
  verb === 'create' &&
  type === 'credential' &&
  fields.some(({ field, after }) => field === 'generate' && after === true)
