// What a response shows of the tree around a full action.
import type { Database } from '#platform/database/connect.ts'
import { BORN, CHANGED, type FullAction } from './full-action.ts'

const dated = { created_at: BORN, updated_at: CHANGED }

export function describeAround(db: Database, full: FullAction) {
  const user = async (id: number) => {
    const { name, email, url_slug, language, active } = await db
      .selectFrom('users')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirstOrThrow()
    return { id, name, email, url_slug, language, active, ...dated }
  }

  const organization = async () => {
    const { organizationId, owner } = full.tree
    const { url_slug } = await db
      .selectFrom('organizations')
      .select('url_slug')
      .where('id', '=', organizationId)
      .executeTakeFirstOrThrow()
    return {
      id: organizationId,
      name: 'Acme',
      url_slug,
      resource_summary: summary({
        project: 1,
        environment: 2,
        application: 2,
        server: 4,
        pipeline: 4,
        credential: 1,
      }),
      owner: await user(owner.id),
      ...dated,
    }
  }

  const project = async () => ({
    id: full.tree.projectId,
    user_id: full.projectMaker.id,
    name: 'Web',
    logo_url: 'https://acme.example/logo.svg',
    resource_summary: summary({ environment: 2, application: 2, server: 4, pipeline: 4 }),
    os_users: [{ name: 'deploy' }, { name: 'www' }],
    organization: await organization(),
    created_by_user: await user(full.projectMaker.id),
    used_credits: 12,
    ...dated,
  })

  const environment = async () => ({
    id: full.tree.environmentId,
    type: 'production',
    type_human_readable: 'Production',
    name: 'Live',
    description: 'Where customers are',
    used_credits: 7,
    resource_summary: summary({ application: 1, server: 2, pipeline: 2 }),
    ...dated,
    archived_at: CHANGED,
    project: await project(),
  })

  const credential = async () => ({
    id: full.tree.credentialId,
    name: 'GitHub of Acme',
    provider: {
      active: true,
      code: 'github',
      code_human_readable: 'GitHub',
      type: 'source_provider',
      type_human_readable: 'Source provider',
    },
    provider_type: 'source_provider',
    provider_type_human_readable: 'Source provider',
    provider_auth_type: 'token',
    provider_auth_type_human_readable: 'Token',
    active: false,
    organization: await organization(),
    created_by_user: await user(full.credentialMaker.id),
    ...dated,
  })

  return { user, organization, project, environment, credential }
}

function summary(counts: Record<string, number>) {
  return Object.entries(counts).map(([type, count]) => {
    const name = type.charAt(0).toUpperCase() + type.slice(1)
    return {
      resource_type: type,
      resource_type_plural: `${type}s`,
      resource_type_human_readable: name,
      resource_type_human_readable_plural: `${name}s`,
      summary: { count },
    }
  })
}
