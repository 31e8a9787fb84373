// What the person may do, and where.
import { Badge, Text } from '@mantine/core'
import type { Data } from '#client/index.ts'
import { queryKeys, useGet } from '#web/base/api/queries.ts'
import { isGranted, useGrants } from '#web/base/session/permissions.ts'
import { useSession } from '#web/base/session/session.ts'
import { Loaded } from '#web/base/ui/page.tsx'
import { Dimmed, Item, ItemList, SectionCard } from '#web/base/ui/parts.tsx'
import { roleLabel } from '#web/pages/members/grant-input.ts'
import { summarizePermissions } from '#web/pages/members/roles.ts'
import { useEnvironment, useOrganizations, useProject } from '#web/shared/scope/tree.ts'

type OwnPermissions = Data<'get', '/users/me/permissions'>[number]

export function AccessSection() {
  const { isInstanceAdmin } = useSession()
  const query = useGrants()
  return (
    <SectionCard id="access" title="Roles and permissions">
      <Dimmed>What you can do, and where. It applies to everything in that scope.</Dimmed>
      {isInstanceAdmin && (
        <Text size="sm" mt="xs">
          You administer this installation: users, organizations, and the audit log of everything.
        </Text>
      )}
      <Loaded query={query} what="permissions">
        {(all) =>
          all.length === 0 ? (
            <Text size="sm" mt="xs">
              You have no role yet. Ask an administrator of an organization to invite you.
            </Text>
          ) : (
            <ItemList>
              {all.map((one) => (
                <Scope
                  key={`${one.organization_id} ${one.project_id} ${one.environment_id}`}
                  held={one}
                  mayRead={isGranted(all, 'member:view', { organization: one.organization_id })}
                />
              ))}
            </ItemList>
          )
        }
      </Loaded>
    </SectionCard>
  )
}

/** `mayRead`: whether the person may see which roles they have. */
function Scope({ held, mayRead }: { held: OwnPermissions; mayRead: boolean }) {
  const roles = useOwnRoles(held.organization_id, mayRead).filter(
    (grant) => grant.project_id === held.project_id && grant.environment_id === held.environment_id,
  )
  return (
    <Item
      title={
        <>
          <ScopeName held={held} />
          {roles.map((grant) => (
            <Badge key={grant.id} variant="light">
              {roleLabel(grant)}
            </Badge>
          ))}
        </>
      }
      action={null}
    >
      {summarizePermissions(held.permissions)}
    </Item>
  )
}

function useOwnRoles(organizationId: number, mayRead: boolean) {
  const { user } = useSession()
  const { data } = useGet(
    queryKeys.member(organizationId, user.id),
    '/organizations/{id}/members/{user_id}',
    { params: { path: { id: organizationId, user_id: user.id } }, enabled: mayRead },
  )
  return data?.grants ?? []
}

/** As far as the person may see the names. */
function ScopeName({ held: { organization_id, project_id, environment_id } }: { held: OwnPermissions }) {
  const environment = useEnvironment(environment_id).data
  const project = useProject(environment_id === null ? project_id : null).data ?? environment?.project
  const organization =
    useOrganizations().data?.find(({ id }) => id === organization_id) ?? project?.organization
  const names = [
    organization?.name ?? `Organization ${organization_id}`,
    ...(project_id === null ? [] : [project?.name ?? `project ${project_id}`]),
    ...(environment_id === null ? [] : [environment?.name ?? `environment ${environment_id}`]),
  ]
  return names.join(' / ')
}
