// Every account of the installation, for instance administrators.
import { Badge, Menu, Table, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { keepPreviousData } from '@tanstack/react-query'
import { KeyRound, Search, ShieldAlert, UserCheck, UserX } from 'lucide-react'
import { useState } from 'react'
import { queryKeys, usePage } from '#web/base/api/queries.ts'
import type { UserAccount } from '#web/base/api/types.ts'
import { useSession } from '#web/base/session/session.ts'
import { ICON } from '#web/base/ui/icon.ts'
import { MoreMenu } from '#web/base/ui/menus.tsx'
import { EmptyState, Loaded, PageHeader } from '#web/base/ui/page.tsx'
import { Pager } from '#web/base/ui/pager.tsx'
import { DataTable } from '#web/base/ui/table.tsx'
import { Age } from '#web/base/ui/time.tsx'
import { useSearch } from '#web/shared/scope/scope.ts'
import { ChangeActive, PasswordResetDialog } from './user-dialogs.tsx'
import classes from './users.module.css'

export default function UsersPage() {
  const { isInstanceAdmin } = useSession()
  return (
    <>
      <PageHeader title="Users" />
      {isInstanceAdmin ? (
        <Users />
      ) : (
        <EmptyState icon={ShieldAlert} title="You cannot see the users of this installation">
          Only instance administrators manage accounts. The members page lists the people of your
          organization.
        </EmptyState>
      )}
    </>
  )
}

const PER_PAGE = 50
const SEARCH_DELAY_MS = 250

function Users() {
  const [search, update] = useSearch()
  const email = (search.get('email') ?? '').slice(0, 255)
  const page = Math.max(1, Math.trunc(Number(search.get('page'))) || 1)
  const [text, setText] = useState(email)
  const find = useDebouncedCallback(
    (value: string) => update({ email: value.trim(), page: undefined }, true),
    SEARCH_DELAY_MS,
  )
  const query = { ...(email !== '' && { 'filter[email]': email }), page, per_page: PER_PAGE }
  const users = usePage(queryKeys.users(query), '/users', {
    params: { query },
    placeholderData: keepPreviousData,
  })
  return (
    <>
      <TextInput
        className={classes.search}
        size="xs"
        mb="sm"
        type="search"
        leftSection={<Search size={14} strokeWidth={1.75} aria-hidden="true" />}
        placeholder="Search by email"
        aria-label="Search by email"
        maxLength={255}
        value={text}
        onChange={(event) => {
          setText(event.currentTarget.value)
          find(event.currentTarget.value)
        }}
      />
      <Loaded query={users} what="users">
        {({ items, total, hasNext }) =>
          items.length === 0 ? (
            <EmptyState icon={Search} title="No user matches">
              No email address contains “{email}”.
            </EmptyState>
          ) : (
            <>
              <UsersTable users={items} />
              <Pager
                label="Pages of users"
                page={page}
                total={total}
                hasNext={hasNext}
                go={(to) => update({ page: to === 1 ? undefined : to })}
              />
            </>
          )
        }
      </Loaded>
    </>
  )
}

function UsersTable({ users }: { users: UserAccount[] }) {
  const { user: me } = useSession()
  const [changing, setChanging] = useState<UserAccount>()
  const [resetting, setResetting] = useState<UserAccount>()
  return (
    <>
      <DataTable columns={['Name', 'Status', 'Last sign-in', 'Actions']} aria-label="Users">
        {users.map((user) => (
          <Table.Tr key={user.id}>
            <Table.Td className={classes.person}>
              <span className={classes.name}>{user.name}</span>{' '}
              {user.id === me.id && (
                <Badge size="sm" variant="light">
                  You
                </Badge>
              )}
              <div className="dimmed wrap">{user.email}</div>
            </Table.Td>
            <Table.Td>
              {user.active ? (
                'Active'
              ) : (
                <Badge variant="light" color="orange">
                  Deactivated
                </Badge>
              )}
              {user.is_instance_admin && <div className="dimmed">Instance administrator</div>}
            </Table.Td>
            <Table.Td className="numeric">
              {user.last_sign_in_at === null ? (
                <span className="dimmed">Never</span>
              ) : (
                <Age of={user.last_sign_in_at} />
              )}
            </Table.Td>
            <Table.Td className={classes.actions}>
              <MoreMenu label={`Actions for ${user.email}`} isSmall>
                <Menu.Item leftSection={<KeyRound {...ICON} />} onClick={() => setResetting(user)}>
                  Reset password
                </Menu.Item>
                {user.active ? (
                  <Menu.Item
                    c="var(--mantine-color-error)"
                    leftSection={<UserX {...ICON} />}
                    onClick={() => setChanging(user)}
                  >
                    Deactivate
                  </Menu.Item>
                ) : (
                  <Menu.Item leftSection={<UserCheck {...ICON} />} onClick={() => setChanging(user)}>
                    Activate
                  </Menu.Item>
                )}
              </MoreMenu>
            </Table.Td>
          </Table.Tr>
        ))}
      </DataTable>
      {changing && <ChangeActive user={changing} close={() => setChanging(undefined)} />}
      {resetting && <PasswordResetDialog user={resetting} close={() => setResetting(undefined)} />}
    </>
  )
}
