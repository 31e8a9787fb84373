// The variables of an application: a table that is edited in place and saved as a whole.
import { Button, Group, Paper, TextInput } from '@mantine/core'
import { ClipboardPaste, Plus, Variable as VariableIcon } from 'lucide-react'
import { useState } from 'react'
import { type PermissionScope, usePermission } from '#web/base/session/permissions.ts'
import { ReasonedButton } from '#web/base/ui/controls.tsx'
import { EmptyState, ErrorAlert, Loaded } from '#web/base/ui/page.tsx'
import { Dimmed, Section } from '#web/base/ui/parts.tsx'
import { plural } from '#web/base/ui/status.ts'
import { RowTable } from '#web/base/ui/table.tsx'
import { PasteDialog } from './paste-dialog.tsx'
import { useVariables } from './use-variables.ts'
import type { Variable } from './variable-edits.ts'
import { VariableRow } from './variable-row.tsx'
import classes from './variables.module.css'

type VariablesSectionProps = { applicationId: number; scope: PermissionScope | undefined }

/** More than this are worth a filter. */
const MANY = 15

export function VariablesSection({ applicationId, scope }: VariablesSectionProps) {
  const { allowed, reason } = usePermission('application:edit', scope)
  const variables = useVariables(applicationId)
  const { query, rows, errors, isDirty, changeCount, save } = variables
  const [pasted, setPasted] = useState<string>()
  const [newest, setNewest] = useState<string>()
  const [filter, setFilter] = useState('')
  const shown = rows.filter(
    ({ name, base }) => !base || name.toLowerCase().includes(filter.trim().toLowerCase()),
  )
  const why = allowed ? undefined : reason
  return (
    <Section id="variables" title="Variables">
      <Group justify="space-between" gap="xs" mb="sm">
        <Dimmed>
          The application's commands get them as environment variables, starting with the next run.
        </Dimmed>
        <Group gap="xs">
          {rows.length > MANY && (
            <TextInput
              aria-label="Filter variables"
              placeholder="Filter"
              value={filter}
              onChange={(event) => setFilter(event.currentTarget.value)}
            />
          )}
          <ReasonedButton variant="default" reason={why} icon={ClipboardPaste} onClick={() => setPasted('')}>
            Paste .env
          </ReasonedButton>
          <ReasonedButton
            variant="default"
            reason={why}
            icon={Plus}
            onClick={() => setNewest(variables.add())}
          >
            Add variable
          </ReasonedButton>
        </Group>
      </Group>
      <Loaded query={query} what="variables">
        {(stored) => {
          if (rows.length === 0)
            return (
              <EmptyState icon={VariableIcon} title="No variables yet">
                Hidden values are masked in logs and never shown again.
              </EmptyState>
            )
          if (!allowed) return <ReadOnly variables={stored} />
          return (
            <Paper withBorder>
              <form
                noValidate
                aria-label="Variables"
                onSubmit={(event) => {
                  event.preventDefault()
                  if (isDirty && !save.isPending) save.mutate()
                }}
              >
                <ul className={`plain-list ${classes.rows}`}>
                  {shown.map((row) => (
                    <VariableRow
                      key={row.key}
                      row={row}
                      errors={errors[row.key]}
                      theirs={variables.theirsOf(row.key)}
                      isNew={row.key === newest}
                      change={variables.change}
                      reset={variables.reset}
                      keepMine={variables.keepMine}
                      pasteFile={setPasted}
                    />
                  ))}
                </ul>
                {(isDirty || save.error) && (
                  <div className={classes.bar}>
                    {save.error && <ErrorAlert error={save.error} />}
                    <Group justify="flex-end" gap="sm">
                      <Dimmed role="status">{plural(changeCount, 'unsaved change')}</Dimmed>
                      <Button variant="default" onClick={variables.discard}>
                        Discard
                      </Button>
                      <Button type="submit" loading={save.isPending}>
                        Save variables
                      </Button>
                    </Group>
                  </div>
                )}
              </form>
            </Paper>
          )
        }}
      </Loaded>
      {pasted !== undefined && (
        <PasteDialog
          initial={pasted}
          rows={rows}
          apply={variables.paste}
          close={() => setPasted(undefined)}
        />
      )}
    </Section>
  )
}

function ReadOnly({ variables }: { variables: Variable[] }) {
  return (
    <RowTable
      label="Variables"
      rows={variables.toSorted((one, other) => one.name.localeCompare(other.name))}
      columns={[
        ['Name', 'wrap', ({ name }) => <code>{name}</code>],
        ['Value', 'dimmed', () => '•••••••• (visible to people who may edit the application)'],
      ]}
    />
  )
}
