import { Button, Checkbox, PasswordInput, Stack, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { useApi } from '#web/base/api/queries.ts'
import { blockNavigation, leave } from '#web/base/form/leave-guard.ts'
import { CopyField } from '#web/base/ui/copy-field.tsx'
import { Dialog, DialogFooter } from '#web/base/ui/dialog.tsx'
import { ErrorAlert } from '#web/base/ui/page.tsx'
import { CodeEditor } from '#web/shared/editor/code-editor.tsx'
import { type Applied, applyBody, placeholders, summaryOf } from './apply-input.ts'

/** Applies a gantry.yaml: first what would change, then all of it or nothing. */
export function ApplyDialog({ close }: { close(): void }) {
  const api = useApi()
  const queries = useQueryClient()
  const [document, setDocument] = useState('')
  const [values, setValues] = useState<Record<string, string>>({})
  const [prune, setPrune] = useState(false)
  const { mutate, data, error, isPending, reset } = useMutation({
    // New secrets do not outlive the dialog.
    gcTime: 0,
    mutationFn: (isDryRun: boolean) =>
      api.post('/apply', { body: applyBody({ document, values, prune }, isDryRun) }),
    onSuccess: ({ dry_run }) => (dry_run ? undefined : queries.invalidateQueries()),
  })
  const change = (apply: () => void) => {
    apply()
    // What was previewed is not what would be applied anymore.
    reset()
  }
  const isApplied = data !== undefined && !data.dry_run
  const isUnsaved = !isApplied && document.trim() !== ''
  useEffect(() => (isUnsaved ? blockNavigation() : undefined), [isUnsaved])
  const canApply = data?.dry_run === true && data.changes.length > 0
  return (
    <Dialog close={() => leave(close)} title="Apply gantry.yaml" size="xl" isPersistent>
      <Stack gap="md">
        {!isApplied && (
          <>
            <CodeEditor
              label="Document"
              description="A project and everything in it. What it does not mention stays unchanged."
              language="yaml"
              minLines={12}
              value={document}
              onChange={(text) => change(() => setDocument(text))}
            />
            {placeholders(document).map((name) => (
              <PasswordInput
                key={name}
                label={`Value of ${name}`}
                value={values[name] ?? ''}
                onChange={({ currentTarget }) =>
                  change(() => setValues({ ...values, [name]: currentTarget.value }))
                }
              />
            ))}
            <Checkbox
              label="Remove what the document does not mention"
              checked={prune}
              onChange={({ currentTarget }) => change(() => setPrune(currentTarget.checked))}
            />
          </>
        )}
        {error && <ErrorAlert error={error} />}
        <div role="status">{data && <Changes applied={data} />}</div>
        {data?.secrets.map(({ path, url, secret }) => (
          <Stack key={path} gap="xs">
            <Text size="sm" className="wrap">
              {path}: copy its secret now. It is not shown again.
            </Text>
            {url && <CopyField label={`URL of ${path}`} value={url} />}
            {secret && <CopyField label={`Secret of ${path}`} value={secret} />}
          </Stack>
        ))}
        <DialogFooter close={() => leave(close)} dismiss={isApplied ? 'Done' : 'Cancel'}>
          {!isApplied && (
            <>
              <Button
                variant={canApply ? 'default' : 'filled'}
                loading={isPending}
                disabled={document.trim() === ''}
                onClick={() => mutate(true)}
              >
                Preview changes
              </Button>
              {canApply && (
                <Button loading={isPending} onClick={() => mutate(false)}>
                  Apply
                </Button>
              )}
            </>
          )}
        </DialogFooter>
      </Stack>
    </Dialog>
  )
}

function Changes({ applied }: { applied: Applied }) {
  return (
    <>
      <Text fw={600} size="sm">
        {summaryOf(applied)}
      </Text>
      <ul>
        {applied.changes.map(({ verb, type, name, path, fields }) => (
          <li key={`${verb} ${type} ${path}`} className="wrap">
            {verb} {type.replaceAll('_', ' ')} <strong>{name}</strong>{' '}
            {verb === 'change' && (
              <span className="dimmed">{fields.map(({ field }) => field).join(', ')}</span>
            )}
          </li>
        ))}
      </ul>
      {applied.stopped_hooks.length > 0 && (
        <Text size="sm" className="wrap">
          {applied.dry_run ? 'Stops' : 'Stopped'} these hooks, which send a token elsewhere than to its
          provider:{' '}
          {applied.stopped_hooks.map(({ name, origins }) => `${name} (${origins.join(', ')})`).join('; ')}.
        </Text>
      )}
    </>
  )
}
