import { Alert, Button, Group, Stack, Table, Text } from '@mantine/core'
import { type ReactNode, useEffect, useId, useRef } from 'react'
import { ErrorAlert } from '#web/base/ui/page.tsx'
import { differences, labelOf } from './changes.ts'
import type { RecordForm as FormState } from './use-record-form.ts'

type RecordFormProps<Values extends object> = {
  form: FormState<Values>
  /** The text of the button: "Add server". */
  submit: string
  cancel?: (() => void) | undefined
  /** The names of fields in a conflict, where they differ from the API's. */
  labels?: Partial<Record<keyof Values & string, string>>
  /** Why nothing can be saved; shown next to the disabled button. */
  reason?: string | undefined
  children: ReactNode
}

export function RecordForm<Values extends object>(props: RecordFormProps<Values>) {
  const { form, submit, cancel, labels, reason, children } = props
  const element = useRef<HTMLFormElement>(null)
  const reasonId = useId()
  const { errors, error, conflict } = form
  const invalid = Object.keys(errors).join()
  useEffect(() => {
    if (invalid) element.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
  }, [invalid])
  return (
    <form
      ref={element}
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        event.stopPropagation()
        form.submit()
      }}
    >
      <Stack gap="md">
        {form.isRestored && form.isDirty && (
          <Alert color="blue" role="status">
            <Group justify="space-between" gap="xs">
              Your unsaved changes were restored.
              <Button size="compact-sm" variant="default" onClick={form.discard}>
                Discard
              </Button>
            </Group>
          </Alert>
        )}
        {children}
        {error && <ErrorAlert error={error} />}
        {conflict && <Conflict mine={form.values} labels={labels} {...conflict} />}
        <Group justify="flex-end" gap="sm" className="form-footer">
          {reason && (
            <span className="dimmed" id={reasonId}>
              {reason}
            </span>
          )}
          {cancel && (
            <Button variant="default" onClick={cancel}>
              Cancel
            </Button>
          )}
          <Button
            type="submit"
            // On a page it stands out once there is something to save.
            variant={cancel || form.isDirty ? 'filled' : 'default'}
            loading={form.isSaving}
            disabled={reason !== undefined || conflict !== undefined}
            aria-describedby={reason && reasonId}
          >
            {submit}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

type ConflictProps<Values extends object> = {
  mine: Values
  theirs: Values
  labels?: Partial<Record<keyof Values & string, string>> | undefined
  keepMine(): void
  takeTheirs(): void
}

/** Someone else saved the record while the person was editing: both versions, side by side. */
function Conflict<Values extends object>(props: ConflictProps<Values>) {
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
