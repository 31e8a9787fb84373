import { NativeSelect, TextInput } from '@mantine/core'
import type { RecordForm } from '../ui/form/use-record-form.ts'
import type { EnvironmentValues } from './environment-input.ts'
import { LIMIT_LABELS, LIMITS } from './retention-input.ts'

type RetentionFieldsProps = { form: RecordForm<EnvironmentValues>; defaults: string | undefined }

/** `defaults`: what the installation keeps, in words, where it is known. */
export function RetentionFields({ form, defaults }: RetentionFieldsProps) {
  return (
    <>
      <NativeSelect
        label="Keep old data"
        description="What is live, unfinished or on a server's disk is never removed."
        data={[
          { value: 'default', label: `Installation default${defaults ? `: ${defaults}` : ''}` },
          { value: 'own', label: 'As set here' },
        ]}
        {...form.field('retention')}
      />
      {form.values.retention === 'own' && (
        <div className="columns">
          {LIMITS.map((limit) => (
            <TextInput
              key={limit}
              label={LIMIT_LABELS[limit]}
              placeholder="Forever"
              inputMode="numeric"
              autoComplete="off"
              {...form.field(limit)}
            />
          ))}
        </div>
      )}
    </>
  )
}
