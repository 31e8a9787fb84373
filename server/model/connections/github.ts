import { encodePath, idOf, objectOf, type RepositoryHost, textOf, textsOf, timeOf } from './host.ts'

const hooks = (repository: string) => `/repos/${encodePath(repository)}/hooks`
const deliveries = (repository: string, id: string) => `${hooks(repository)}/${id}/deliveries`
const PAGE = 100

/** GitHub and GitHub Enterprise Server. */
export const github: RepositoryHost = {
  name: 'GitHub',
  root: '',
  permission:
    'A fine-grained token needs the repository permission Webhooks: write, a classic token the scope admin:repo_hook',
  addressHint: 'GitHub must be able to reach it over the internet',
  defaultEvents: ['push'],
  checksEvents: ['check_suite', 'status'],
  optionalEvents: [],
  isEvent: (name) => /^(\*|[a-z_]{1,64})$/.test(name),
  signatureHeaders: {
    'x-hub-signature-256': { scheme: 'body', algorithm: 'sha256' },
    'x-hub-signature': { scheme: 'body', algorithm: 'sha1' },
  },
  headers: (token) => ({
    Authorization: `Bearer ${token}`,
    Accept: 'application/vnd.github+json',
    'X-GitHub-Api-Version': '2022-11-28',
  }),
  pageSize: PAGE,
  list: (repository, page) => ({
    method: 'GET',
    path: `${hooks(repository)}?per_page=${PAGE}${page > 1 ? `&page=${page}` : ''}`,
  }),
  create: (repository, wanted) => ({
    method: 'POST',
    path: hooks(repository),
    body: { name: 'web', ...bodyOf(wanted) },
  }),
  update: (repository, id, wanted) => ({
    method: 'PATCH',
    path: `${hooks(repository)}/${id}`,
    body: bodyOf(wanted),
  }),
  remove: (repository, id) => ({ method: 'DELETE', path: `${hooks(repository)}/${id}` }),
  read(entry) {
    const config = objectOf(entry.config)
    const [id, url] = [idOf(entry.id), textOf(config.url)]
    if (id === null || url === null || typeof entry.active !== 'boolean') return null
    return {
      id,
      url,
      active: entry.active,
      events: textsOf(entry.events),
      verifiesTls: String(config.insecure_ssl ?? '0') === '0',
      // Gantry reads forms, too.
      isReadable: true,
      isSuspended: false,
      disabledUntil: null,
      kept: {},
    }
  },
  settingsUrl: (home, repository, id) => `${home}/${encodePath(repository)}/settings/hooks/${id}`,
  tried: (repository, id) => ({ method: 'GET', path: `${deliveries(repository, id)}?per_page=50` }),
  readTried(entry) {
    const at = timeOf(entry.delivered_at)
    return at === null
      ? null
      : { at: Date.parse(at), status: typeof entry.status_code === 'number' ? entry.status_code : null }
  },
  redelivery: {
    list: (repository, id, cursor) => ({
      method: 'GET',
      path: `${deliveries(repository, id)}?per_page=${PAGE}${cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`}`,
    }),
    read(entry) {
      const [id, deliveryId, at] = [idOf(entry.id), textOf(entry.guid), timeOf(entry.delivered_at)]
      const { event, status_code: status } = entry
      if (id === null || deliveryId === null || !/^[!-~]{1,200}$/.test(deliveryId) || at === null) return null
      return {
        id,
        deliveryId,
        event: typeof event === 'string' && /^[a-z_]{1,64}$/.test(event) ? event : 'unknown',
        at: Date.parse(at),
        isDelivered: typeof status === 'number' && status >= 200 && status < 300,
      }
    },
    show: (repository, id, attempt) => ({ method: 'GET', path: `${deliveries(repository, id)}/${attempt}` }),
    readPayload: (json) => objectOf(objectOf(json).request).payload,
    repeat: (repository, id, attempt) => ({
      method: 'POST',
      path: `${deliveries(repository, id)}/${attempt}/attempts`,
    }),
  },
}

function bodyOf({ url, secret, events, active, verifiesTls }: Parameters<RepositoryHost['create']>[1]) {
  return {
    active,
    events,
    config: { url, content_type: 'json', secret, insecure_ssl: verifiesTls ? '0' : '1' },
  }
}
