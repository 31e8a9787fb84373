/** A request of a person to the API. */
export async function send(
  method: 'POST' | 'PUT',
  url: string,
  token: string,
  body: object,
): Promise<{ status: number; body: unknown }> {
  const answer = await fetch(url, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return { status: answer.status, body: await answer.json() }
}
