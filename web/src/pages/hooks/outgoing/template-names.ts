// The names that templates use most, for completion. `action` has every field of GET /actions/{id}; these are the
// ones of docs/guides/receivers.md. A test renders each of them.

const NAMES: Record<string, Record<string, string>> = {
  event: {
    kind: 'action.completed',
    occurred_at: 'when it happened',
    previous_status: 'the status before',
    id: 'number of the event',
  },
  action: {
    id: '42',
    status: 'completed, failed, in-progress, …',
    status_human_readable: 'Completed',
    status_reason_code: 'FAILED_CANCELLED',
    status_reason_human_readable: 'Canceled by a user',
    type: 'deploy',
    type_human_readable: 'Deploy',
    url_web_permalink: 'its page in Gantry',
    trigger_comment: 'comment of the person',
    retry_of: 'the run that it retries',
    created_at: 'time',
    started_at: 'time',
    completed_at: 'time',
    'triggered_from.trigger_type': 'hook, manual, …',
    'triggered_from.name': 'who or what started it',
    'triggered_from.email': 'of the person',
    'triggered_from.hook_parsed_variables': 'variables of the hook: add .name',
    'action_data.release_name': 'the release',
    'action_data.commit.hash': 'full hash',
    'action_data.commit.message': 'whole message',
    'action_data.commit.author_name': 'author',
    'action_data.commit.url': 'its page',
    'action_data.deployment.source_ref': 'branch or tag',
    'summary.targets.count': 'servers',
    'summary.targets.failed': 'servers that failed',
  },
  changes: {
    commits_count: 'commits that ship; empty until the source is fetched',
    files_count: 'files that differ',
    removed_commits_count: 'commits that go away',
    rewritten: 'true after a force-push',
    from_sha: 'the live commit',
    to_sha: 'the new commit',
    'commits[0].subject': 'the newest; for commit in changes.commits: at most 50',
    'commits[0].author_name': 'author',
    'commits[0].sha': 'full hash',
  },
  application: {
    name: 'empty for pipelines of servers',
    repository: 'URL of the repository',
    repository_owner: 'acme',
    repository_name: 'shop',
    default_branch: 'main',
    'source_provider.name': 'github',
    'source_provider.access_token': 'token of the credential; not in the URL',
  },
  credential: { access_token: "token of the hook's credential; not in the URL" },
  pipeline: { id: 'number', name: 'name', operation: 'deploy' },
  environment: { id: 'number', name: 'name', type: 'production' },
  request: { idempotency_key: 'the same for each attempt' },
  project: { id: 'number', name: 'name' },
  organization: { id: 'number', name: 'name' },
}

export const TEMPLATE_NAMES: readonly { label: string; detail: string }[] = Object.entries(NAMES).flatMap(
  ([root, fields]) =>
    Object.entries(fields).map(([field, detail]) => ({ label: `${root}.${field}`, detail })),
)
