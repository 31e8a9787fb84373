import type { PageForm } from './built-pages.ts'

/** The best form that the caller takes; the plain one when in doubt, which everybody takes. Pure. */
export function chooseForm(forms: readonly PageForm[], acceptEncoding: string | undefined): PageForm {
  const accepted = new Set(
    (acceptEncoding ?? '')
      .split(',')
      .map((part) => part.trim().toLowerCase())
      .filter((part) => !/;\s*q=0(\.0{0,3})?$/.test(part))
      .map((part) => part.split(';', 1)[0]!.trim()),
  )
  return forms.find(({ encoding }) => encoding === null || accepted.has(encoding))!
}

/** Whether the caller has this very form already (If-None-Match). Pure. */
export function hasForm({ etag }: PageForm, ifNoneMatch: string | undefined): boolean {
  const known = (ifNoneMatch ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''))
  return known.includes('*') || known.includes(etag)
}
