// The scope of the object that a page is about: its breadcrumbs set it, the switcher shows it.
import { createContext, useContext, useEffect } from 'react'
import type { Scope } from './scope.ts'

type PageScope = [scope: Scope | undefined, set: (scope: Scope | undefined) => void]

export const PageScopeContext = createContext<PageScope>([undefined, () => {}])

/** For as long as the page is shown. */
export function useSetPageScope({ organization, project, environment }: Scope): void {
  const [, set] = useContext(PageScopeContext)
  useEffect(() => {
    if (organization !== undefined && project !== undefined && environment !== undefined)
      set({ organization, project, environment })
    return () => set(undefined)
  }, [set, organization, project, environment])
}
