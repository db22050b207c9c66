// What readers do on a page: copy commands, search, and read it with what eyes they have. Each function returns what is wrong.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** The pages that people look for in other words than theirs. The words are in search.json. */
const searches = {
  stuck: '/cli.html#stepgate-explain',
  skip: '/emergency.html#2-if-one-sync-is-denied-and-must-go-through',
  'roll back': '/decisions.html#rollback',
}

/** Copies every console block of the page that is open: the commands alone. A block that a program prints has no button. */
export async function copying(tab) {
  const found = []
  for (const block of await tab.locator('.vp-doc div[class*="language-"]').all()) {
    const text = await block.locator('code').textContent()
    const begin = JSON.stringify(text.slice(0, 30))
    const button = block.locator('button.copy')
    const kind = (await block.getAttribute('class')).match(/language-(\w+)/)[1]
    if (kind === 'text') {
      if (await button.isVisible()) found.push(`the button copies what a program prints: ${begin}`)
    } else if (kind === 'console') {
      const commands = [...text.matchAll(/^\$ ((?:.*\\\n)*.*)/gm)].map(command => command[1]).join('\n')
      await button.click()
      const copied = await tab.evaluate(() => navigator.clipboard.readText())
      if (copied !== commands) found.push(`the button of ${begin} copies ${JSON.stringify(copied)}`)
    }
  }
  return found
}

/** Searches in the page that is open, and looks at what is found first. */
export async function searching(tab, wanted = searches) {
  const found = []
  for (const [words, want] of Object.entries(wanted)) {
    await tab.locator('#local-search button').first().click()
    await tab.locator('.search-input').fill(words)
    await tab.locator(`.results li:first-child a[href="${want}"]`).waitFor({ timeout: 5000 })
      .catch(() => found.push(`the search for "${words}" does not find ${want} first`))
    await tab.keyboard.press('Escape')
  }
  return found
}

/** The rules of WCAG 2.2 AA that the page breaks, in light and in dark. */
export async function accessibility(tab) {
  const found = []
  await tab.evaluate(axe)
  for (const colorScheme of ['light', 'dark']) {
    await tab.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    await tab.waitForFunction(dark => document.documentElement.classList.contains('dark') === dark, colorScheme === 'dark')
    const violations = await tab.evaluate(options => window.axe.run(options).then(results => results.violations), {
      runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'],
      // The search button of the theme: it takes the key beside the word for a part of the label.
      rules: { 'label-content-name-mismatch': { enabled: false } },
      resultTypes: ['violations'],
    })
    found.push(...violations.map(({ id, help, nodes }) => `in ${colorScheme}, ${id}: ${help}: ${nodes.length}, ` +
      nodes.slice(0, 3).map(node => `${node.target.join(' ')} ${node.any[0]?.message ?? ''}`).join(' | ')))
  }
  return found
}
