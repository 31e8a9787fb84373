// What the pages of links have in common: reading what the link is for, and using it, which signs the person in.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useLocation } from 'wouter'
import type { Api } from '../api/api.ts'
import { queryKeys } from '../api/queries.ts'
import { useApi } from '../api/services.ts'
import { isDeadLink } from './link-notices.tsx'
import { forgetLinkToken, useLinkToken } from './link-token.ts'
import type { LinkPage } from './read-link.ts'

type TokenInit = { body: { token: string }; signal: AbortSignal }

/** `token` is null if the link does not work. */
export function useLink<Read>(page: LinkPage, read: (api: Api, init: TokenInit) => Promise<Read>) {
  const api = useApi()
  const token = useLinkToken(page)
  const query = useQuery({
    queryKey: queryKeys.link(page, token),
    enabled: token !== null,
    queryFn: ({ signal }) => read(api, { body: { token: token! }, signal }),
  })
  return { query, token: isDeadLink(query.error) ? null : token }
}

export function useLinkAction<Values>(
  page: LinkPage,
  token: string,
  act: (values: Values) => Promise<unknown>,
) {
  const queries = useQueryClient()
  const [, navigate] = useLocation()
  return useMutation({
    mutationFn: act,
    onSuccess() {
      // The cookie is set. What was loaded before was loaded without it.
      queries.clear()
      navigate('/overview', { replace: true })
      forgetLinkToken(page)
    },
    // It may have been used or replaced meanwhile, or the address may have an account now.
    onError: () => void queries.invalidateQueries({ queryKey: queryKeys.link(page, token) }),
  })
}
