// What somebody has to do elsewhere after a document was applied: paste secrets, authorize keys.
import { type components, type Gantry, reachProblem } from '@gantry/client'
import { slugifyAnyScript as slug } from '@gantry/client/slug'
import { parse } from 'yaml'
import { instructionsFor, type Sender } from '../catalog.ts'
import { printDetails } from '../details.ts'
import { plain, type Screen } from '../screen.ts'
import { collect, organizationsOf } from '../walk.ts'
import { type Change, pathOf } from './diff.ts'

type Applied = components['schemas']['Applied']

/** Secrets are shown here and never again. */
export async function printNewHooks(
  screen: Screen,
  gantry: Gantry,
  { secrets, changes }: Applied,
): Promise<void> {
  if (secrets.length === 0) return
  // The secrets are shown in any case: nobody can get them again.
  const senders = await gantry.get('/catalog/senders').catch((): Sender[] => [])
  for (const { path, url, secret } of secrets) {
    const change = changes.find((one) => one.path === path) ?? unlisted(path)
    const direction = url === null ? 'outgoing' : 'incoming'
    screen.print()
    screen.print(screen.style('bold', `New ${direction} hook ${plain(pathOf(change))}`))
    printDetails(screen, [
      ['  URL', url],
      ['  Secret', secret],
    ])
    const problem = url === null ? undefined : reachProblem(url)
    if (problem) screen.note(`  Warning: ${problem}`)
    if (secret !== null) screen.note("  Copy the secret now; it won't be shown again.")
    const sender = url === null ? undefined : senderOf(change, senders)
    if (isConnected(change)) screen.note(`  ${CONNECTED} gantry hook show ${slugsOf(change)}`)
    else if (sender) {
      screen.note(`  At ${sender.name}:`)
      for (const line of instructionsFor(sender, { url, secret })) screen.note(`  ${line}`)
    } else screen.note(NEXT[direction])
  }
}

const unlisted = (path: string): Change => ({ verb: 'create', type: 'hook', name: '', path, fields: [] })

/** Entered there by hand as well, each push would start two runs. */
const CONNECTED = 'Gantry enters both at the host of the repository. Whether it could:'

const isConnected = ({ fields }: Change) =>
  fields.some(({ field, after }) => field === 'connect' && after === true)

const slugsOf = (change: Change) => pathOf(change).split('/').map(slug).join('/')

const NEXT = {
  incoming: '  Enter both in the webhook settings of the sender.',
  outgoing: '  The receiver verifies deliveries with it.',
}

/** The name tells more than the header, which several senders share. */
function senderOf({ name, fields }: Change, senders: readonly Sender[]): Sender | undefined {
  const header = fields.find(({ field }) => field === 'secret_header_name')?.after
  return (
    senders.find(({ hook }) => hook.name === name) ??
    (typeof header === 'string' ? senders.find(({ hook }) => hook.secret_header_name === header) : undefined)
  )
}

/** How to start what is new. */
export function printNextStep(screen: Screen, { changes }: Applied): void {
  const pipeline = changes.find(({ verb, type }) => verb === 'create' && type === 'pipeline')
  if (!pipeline) return
  screen.note(`\nNext: gantry run ${slugsOf(pipeline)} --watch`)
}

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
