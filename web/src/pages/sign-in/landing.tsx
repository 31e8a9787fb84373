import { useState } from 'react'
import { Redirect } from 'wouter'
import { readRememberedPage } from './return-to.ts'

/** The root, where single sign-on leads back to, and the sign-in page: on to the page that the person wanted. */
export function Landing() {
  const [page] = useState(readRememberedPage)
  return <Redirect to={page ?? '/overview'} replace />
}
