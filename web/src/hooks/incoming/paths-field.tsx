import { TagsInput } from '@mantine/core'
import type { HookForm } from './use-hook-form.ts'

/** Which changed files start a run. Globs contain commas. */
export function PathsField({ form, isDisabled }: { form: HookForm; isDisabled?: boolean }) {
  const { paths } = form.values
  const errors = paths.flatMap((path, index) => {
    const error = form.errors[`paths.${index}`]
    return error ? `${path}: ${error}` : []
  })
  return (
    <TagsInput
      label="Only when files change"
      description="Globs such as api/** or !**/*.md, relative to the root of the repository. A call is accepted, and its run is skipped when no such file has changed since what is live. Empty: every run starts."
      placeholder={paths.length === 0 ? 'api/**' : ''}
      maw="42rem"
      splitChars={[]}
      disabled={isDisabled}
      value={paths}
      error={form.errors.paths ?? (errors.join(' ') || null)}
      onChange={(next) => form.set('paths', next)}
    />
  )
}
