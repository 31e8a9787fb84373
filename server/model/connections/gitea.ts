import { encodePath, idOf, objectOf, type RepositoryHost, textOf, textsOf } from './host.ts'

const hooks = (repository: string) => `/repos/${encodePath(repository)}/hooks`
/** Its own limit of a page, unless an administrator changed it. */
const PAGE = 50

/** Gitea and Forgejo. */
export const gitea: RepositoryHost = {
  name: 'Gitea',
  root: '/api/v1',
  permission:
    'The token needs the scope write:repository, and its owner must be an administrator of the repository',
  addressHint: 'in Gitea, an administrator allows it with ALLOWED_HOST_LIST in the section [webhook]',
  defaultEvents: ['push'],
  checksEvents: ['status'],
  optionalEvents: ['status'],
  isEvent: (name) => /^[a-z_]{1,64}$/.test(name),
  signatureHeaders: {
    'x-gitea-signature': { scheme: 'body', algorithm: 'sha256' },
    'x-forgejo-signature': { scheme: 'body', algorithm: 'sha256' },
    'x-hub-signature-256': { scheme: 'body', algorithm: 'sha256' },
  },
  headers: (token) => ({ Authorization: `token ${token}` }),
  pageSize: PAGE,
  list: (repository, page) => ({
    method: 'GET',
    path: `${hooks(repository)}?limit=${PAGE}${page > 1 ? `&page=${page}` : ''}`,
  }),
  create: (repository, { url, secret, events, active, kept }) => ({
    method: 'POST',
    path: hooks(repository),
    body: { type: 'gitea', active, events, config: { url, content_type: 'json', secret }, ...kept },
  }),
  // A change ignores the secret, and resets what it does not name.
  update: null,
  remove: (repository, id) => ({ method: 'DELETE', path: `${hooks(repository)}/${id}` }),
  read(entry) {
    const config = objectOf(entry.config)
    const [id, url] = [idOf(entry.id), textOf(config.url)]
    if (id === null || url === null || typeof entry.active !== 'boolean') return null
    const [branch_filter, authorization_header] = [entry.branch_filter, entry.authorization_header].map(
      textOf,
    )
    return {
      id,
      url,
      active: entry.active,
      events: textsOf(entry.events),
      verifiesTls: null,
      // Forms are signed differently.
      isReadable: config.content_type === 'json',
      isSuspended: false,
      disabledUntil: null,
      kept: {
        ...(branch_filter && { branch_filter }),
        ...(authorization_header && { authorization_header }),
      },
    }
  },
  settingsUrl: (home, repository, id) => `${home}/${encodePath(repository)}/settings/hooks/${id}`,
  tried: null,
  readTried: () => null,
  redelivery: null,
}
