// What GitHub repeats in its answers: people, repositories, apps and commits, with every field that it always sends.

const API = 'https://api.github.com'
const TIME = '2026-01-01T00:00:00Z'

const links = (base: string, names: string) =>
  Object.fromEntries(names.split(' ').map((name) => [`${name}_url`, `${base}/${name}`]))

export function userOf(login: string) {
  const url = `${API}/users/${login}`
  return {
    ...{ login, id: 1, node_id: 'MDQ6VXNlcjE=', gravatar_id: '', type: 'User', site_admin: false, url },
    ...{
      html_url: `https://github.com/${login}`,
      avatar_url: 'https://avatars.githubusercontent.com/u/1?v=4',
    },
    ...links(
      url,
      'followers following gists starred subscriptions organizations repos events received_events',
    ),
  }
}

const REPOSITORY_LINKS = `archive assignees blobs branches collaborators comments commits compare contents contributors deployments
  downloads events forks git_commits git_refs git_tags hooks issue_comment issue_events issues keys labels languages merges
  milestones notifications pulls releases stargazers statuses subscribers subscription tags teams trees`

export function repositoryOf(fullName: string) {
  const [owner, name] = fullName.split('/')
  const url = `${API}/repos/${fullName}`
  return {
    ...{ id: 1, node_id: 'MDEwOlJlcG9zaXRvcnkx', name, full_name: fullName, owner: userOf(owner!) },
    ...{ private: true, fork: false, description: null, url, html_url: `https://github.com/${fullName}` },
    ...links(url, REPOSITORY_LINKS.replace(/\s+/g, ' ')),
  }
}

export function appOf({ id, name, slug }: { id: number; name: string; slug: string }) {
  return {
    ...{ id, slug, name, node_id: 'MDExOkludGVncmF0aW9uMQ==', owner: userOf('github'), description: null },
    ...{ external_url: 'https://example.com', html_url: `https://github.com/apps/${slug}` },
    ...{ created_at: TIME, updated_at: TIME, permissions: { checks: 'write' }, events: [] },
  }
}

export function commitOf(sha: string) {
  const person = { name: 'dev', email: 'dev@example.com' }
  const message = 'A change'
  return { id: sha, tree_id: sha, message, timestamp: TIME, author: person, committer: person }
}

export const apiUrl = (path: string) => `${API}/repos/${path}`
