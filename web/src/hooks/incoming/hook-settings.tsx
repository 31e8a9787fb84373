import { Stack, TextInput } from '@mantine/core'
import { type PermissionScope, usePermission } from '../../session/permissions.ts'
import { RecordForm } from '../../ui/form/record-form.tsx'
import { SectionCard } from '../../ui/parts.tsx'
import { CallConditionsField } from './conditions-field.tsx'
import { HOOK_LABELS } from './hook-values.ts'
import { PathsField } from './paths-field.tsx'
import { SignatureFields } from './signature-fields.tsx'
import type { HookForm } from './use-hook-form.ts'
import { VariablesField } from './variables-field.tsx'

type HookSettingsProps = { form: HookForm; deploys: boolean; scope: PermissionScope | undefined }

export function HookSettings({ form, deploys, scope }: HookSettingsProps) {
  const { allowed, reason } = usePermission('hook:edit', scope)
  return (
    <SectionCard id="settings" title="Settings">
      <RecordForm
        form={form}
        submit="Save changes"
        labels={HOOK_LABELS}
        reason={allowed ? undefined : reason}
      >
        <TextInput label="Name" maw="32rem" disabled={!allowed} {...form.field('name')} />
        <VariablesField form={form} isDisabled={!allowed} />
        <CallConditionsField form={form} isDisabled={!allowed} />
        {deploys && <PathsField form={form} isDisabled={!allowed} />}
        {allowed && (
          <details>
            <summary>Signature and rate limit</summary>
            <Stack mt="sm">
              <SignatureFields form={form} />
            </Stack>
          </details>
        )}
      </RecordForm>
    </SectionCard>
  )
}
