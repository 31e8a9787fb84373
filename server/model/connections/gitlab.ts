import { idOf, objectOf, type RepositoryHost, textOf, timeOf } from './host.ts'

const hooks = (repository: string) => `/projects/${encodeURIComponent(repository)}/hooks`
const PAGE = 100

/** Each is a field of its own. GitLab ignores fields that it does not know. */
const EVENTS = [
  'push_events',
  'tag_push_events',
  'merge_requests_events',
  'issues_events',
  'confidential_issues_events',
  'note_events',
  'confidential_note_events',
  'job_events',
  'pipeline_events',
  'wiki_page_events',
  'deployment_events',
  'releases_events',
  'feature_flag_events',
]

export const gitlab: RepositoryHost = {
  name: 'GitLab',
  root: '/api/v4',
  permission: 'The token needs the scope api and the role Maintainer in the project',
  addressHint: 'in GitLab, an administrator allows it under Settings → Network → Outbound requests',
  defaultEvents: ['push_events'],
  checksEvents: ['pipeline_events'],
  optionalEvents: [],
  isEvent: (name) => EVENTS.includes(name),
  signatureHeaders: { 'x-gitlab-token': { scheme: 'token', algorithm: null } },
  headers: (token) => ({ 'PRIVATE-TOKEN': token }),
  pageSize: PAGE,
  list: (repository, page) => ({
    method: 'GET',
    path: `${hooks(repository)}?per_page=${PAGE}${page > 1 ? `&page=${page}` : ''}`,
  }),
  create: (repository, wanted) => ({
    method: 'POST',
    path: hooks(repository),
    // Push events are on unless it says otherwise.
    body: { push_events: false, ...bodyOf(wanted), ...wanted.kept },
  }),
  update: (repository, id, wanted) => ({
    method: 'PUT',
    path: `${hooks(repository)}/${id}`,
    body: bodyOf(wanted),
  }),
  remove: (repository, id) => ({ method: 'DELETE', path: `${hooks(repository)}/${id}` }),
  read(entry) {
    const [id, url] = [idOf(entry.id), textOf(entry.url)]
    if (id === null || url === null) return null
    const status = textOf(entry.alert_status) ?? 'executable'
    const filter = textOf(entry.push_events_branch_filter)
    return {
      id,
      url,
      active: status === 'executable',
      events: EVENTS.filter((event) => entry[event] === true),
      verifiesTls: entry.enable_ssl_verification !== false,
      isReadable: true,
      isSuspended: status !== 'executable',
      disabledUntil: status === 'executable' ? null : timeOf(entry.disabled_until),
      kept: { ...(filter && { push_events_branch_filter: filter }) },
    }
  },
  settingsUrl: (home, repository, id) => `${home}/${repository}/-/hooks/${id}/edit`,
  // Since GitLab 17.3.
  tried: (repository, id) => ({ method: 'GET', path: `${hooks(repository)}/${id}/events?per_page=20` }),
  readTried(entry) {
    const date = objectOf(entry.response_headers).Date ?? entry.created_at
    const at = timeOf(date)
    const status = Number(entry.response_status)
    return at === null ? null : { at: Date.parse(at), status: Number.isInteger(status) ? status : null }
  },
  redelivery: null,
}

/** Its webhooks have no switch: they are active unless GitLab suspends them. */
function bodyOf({ url, secret, events, verifiesTls }: Parameters<RepositoryHost['create']>[1]) {
  return {
    url,
    token: secret,
    enable_ssl_verification: verifiesTls,
    ...Object.fromEntries(events.map((event) => [event, true])),
  }
}
