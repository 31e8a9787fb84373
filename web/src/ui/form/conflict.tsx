import { Alert, Button, Group, Table, Text } from '@mantine/core'
import { differences, labelOf } from './changes.ts'

type ConflictProps<Values extends object> = {
  mine: Values
  theirs: Values
  labels?: Partial<Record<keyof Values & string, string>> | undefined
  keepMine(): void
  takeTheirs(): void
}

/** Someone else saved the record while the person was editing: both versions, side by side. */
export function Conflict<Values extends object>(props: ConflictProps<Values>) {
  const { mine, theirs, labels, keepMine, takeTheirs } = props
  const found = differences(mine, theirs)
  return (
    <Alert color="orange" role="alert" title="Someone else saved changes while you were editing">
      {found.length === 0 ? (
        <Text size="sm">Both versions are the same now.</Text>
      ) : (
        <div className="table-frame">
          <Table aria-label="Both versions" fz="sm">
            <Table.Thead>
              <Table.Tr>
                <Table.Th scope="col">Field</Table.Th>
                <Table.Th scope="col">Yours</Table.Th>
                <Table.Th scope="col">Stored now</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {found.map(({ field, mine: one, theirs: other }) => (
                <Table.Tr key={field}>
                  <Table.Th scope="row">
                    {(labels as Record<string, string> | undefined)?.[field] ?? labelOf(field)}
                  </Table.Th>
                  <Table.Td className="wrap">{shown(one)}</Table.Td>
                  <Table.Td className="wrap">{shown(other)}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </div>
      )}
      <Group gap="sm" mt="sm">
        <Button size="xs" onClick={keepMine}>
          Keep mine
        </Button>
        <Button size="xs" variant="default" onClick={takeTheirs}>
          Take theirs
        </Button>
      </Group>
    </Alert>
  )
}

function shown(value: unknown) {
  if (value === '' || value === null || value === undefined) return <span className="dimmed">empty</span>
  if (typeof value === 'string') return value
  return <code>{JSON.stringify(value)}</code>
}
