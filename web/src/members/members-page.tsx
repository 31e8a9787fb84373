// Who may do what. Only to look at: people and roles are managed through the API.
import { Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Refusal } from '../api/api.ts'
import { useApi } from '../api/services.ts'
import type { Grant, Role } from '../api-types.ts'
import { Fault } from '../shell/fault.tsx'
import { Loading } from '../shell/loading.tsx'
import { PageTitle } from '../shell/page-title.tsx'
import { useEnvironment, useOrganizations, useProject } from '../shell/tree.ts'
import { usePlace } from '../shell/use-place.ts'
import classes from './members.module.css'

export default function MembersPage() {
  const [place] = usePlace()
  const organizations = useOrganizations()
  const shown = (organizations.data ?? []).filter(
    ({ id }) => place.organization === undefined || id === place.organization,
  )
  return (
    <>
      <PageTitle title="Members" />
      <div className="page-head">
        <Title order={1} size="h2">
          Members
        </Title>
      </div>
      {organizations.error && !organizations.data && (
        <Fault error={organizations.error} what="organizations" retry={organizations.refetch} />
      )}
      {organizations.isPending && <Loading what="organizations" />}
      {organizations.data && shown.length === 0 && (
        <p>There is no organization here that you see as a whole.</p>
      )}
      {shown.map((organization) => (
        <section key={organization.id} aria-label={organization.name}>
          <Title order={2} size="h4" mb="xs">
            {organization.name} <span className="quiet">owned by {organization.owner.name}</span>
          </Title>
          <MembersOf organizationId={organization.id} />
        </section>
      ))}
    </>
  )
}

function MembersOf({ organizationId }: { organizationId: number }) {
  const api = useApi()
  const { data, error, refetch } = useQuery({
    queryKey: ['members', organizationId],
    queryFn: async ({ signal }) => {
      const input = { path: { id: organizationId }, query: { per_page: 100 }, signal }
      const [members, roles] = await Promise.all([
        api.askPage('GET /organizations/{id}/members', input),
        api.ask('GET /organizations/{id}/roles', input),
      ])
      return { members, roles }
    },
  })
  if (error instanceof Refusal && error.status === 403)
    return <p className="quiet">You may not see who is in this organization.</p>
  if (error) return <Fault error={error} what="members" retry={refetch} />
  if (!data) return <Loading what="members" />
  return (
    <>
      <div className="table-frame">
        <table className={classes.table}>
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col">E-mail</th>
              <th scope="col">Roles</th>
            </tr>
          </thead>
          <tbody>
            {data.members.items.map(({ user, grants, has_joined }) => (
              <tr key={user.id}>
                <td>
                  {user.name} {!has_joined && <span className="quiet">invited, has not joined yet</span>}
                </td>
                <td>{user.email}</td>
                <td>
                  {grants.map((grant, index) => (
                    <span key={grant.id}>
                      {index > 0 && ', '}
                      <GrantInWords grant={grant} />
                    </span>
                  ))}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {Number.parseInt(data.members.total, 10) > data.members.items.length && (
        <p className="quiet">
          The first {data.members.items.length} of {data.members.total}.
        </p>
      )}
      <Roles roles={data.roles} />
    </>
  )
}

/** Places by their names, as soon as those are known and the person may see them. */
function GrantInWords({ grant: { role_name, environment_id, project_id } }: { grant: Grant }) {
  const environment = useEnvironment(environment_id ?? undefined).data
  const project = useProject(project_id ?? undefined).data
  if (environment) return `${role_name} in ${environment.name} of ${environment.project.name}`
  if (environment_id !== null) return `${role_name} in environment ${environment_id}`
  if (project_id !== null) return `${role_name} in ${project?.name ?? `project ${project_id}`}`
  return role_name
}

function Roles({ roles }: { roles: Role[] }) {
  if (roles.length === 0)
    return <p className="quiet">Roles: owner, admin, developer and viewer; none of its own.</p>
  return (
    <dl className={classes.roles}>
      {roles.map((role) => (
        <div key={role.id}>
          <dt>{role.name}</dt>
          <dd>{role.permissions.join(', ')}</dd>
        </div>
      ))}
    </dl>
  )
}
