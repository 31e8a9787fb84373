import { safeUrl } from './format.ts'

type CommitLinkProps = { hash: string | null | undefined; url: string | null | undefined }

/** The first digits of a commit, linked to its page at the git host if it has one. */
export function CommitLink({ hash, url }: CommitLinkProps) {
  const short = <code>{hash?.slice(0, 8)}</code>
  const href = safeUrl(url)
  return href ? (
    <a href={href} rel="noreferrer" target="_blank">
      {short}
    </a>
  ) : (
    short
  )
}

/** The subject of a commit message. Pure. */
export function subjectOf(message: string | null | undefined): string {
  return message?.split('\n')[0]?.slice(0, 200) ?? ''
}
