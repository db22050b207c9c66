// Opens every page of the built site in a real Chromium, on a telephone and on a desk, and fails if something is wrong with one.
// CHROMIUM is the browser. Pictures of some pages go to bin/site-look. An argument restricts it to the pages with that in their name.
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { accessibility, copying, searching } from './reader.mjs'

const bin = join(import.meta.dirname, '..', '..', 'bin')
const site = join(bin, 'site')
const origin = 'https://site.test'
const telephone = 390
const desk = 1280
const widths = [telephone, desk]
const pictures = ['index', 'quickstart', 'install', 'architecture', 'reference/values', 'reference/lint-rules', 'reference/screens']

/** What is wrong with the page that is open. It runs in the browser. */
function faults() {
  const found = []
  const wide = document.documentElement.scrollWidth - window.innerWidth
  if (wide > 0) found.push(`the page is ${wide} px too wide`)
  for (const table of document.querySelectorAll('.vp-doc table')) {
    const wide = table.scrollWidth - table.clientWidth
    if (wide > 0) found.push(`the table that begins with "${table.innerText.trim().slice(0, 30)}" is ${wide} px too wide`)
  }
  const headings = document.querySelectorAll('h1').length
  if (headings !== 1) found.push(`it has ${headings} h1`)
  for (const image of document.images) if (!image.naturalWidth) found.push(`the image ${image.src} is not shown`)
  const front = document.querySelector('.VPHome')
  if (front && !front.querySelector('.vp-doc img')) found.push('the drawing is not on the first page')
  for (const block of document.querySelectorAll('.vp-doc pre')) {
    if (/^\s*(flowchart|graph|sequenceDiagram|stateDiagram|classDiagram)\b/.test(block.innerText)) found.push('a diagram is shown as its source')
  }
  return found
}

/** The anchors of the page that is open, and the links to other pages. It runs in the browser. */
function anchors() {
  const links = [...document.querySelectorAll('a[href]')].filter(a => a.origin === location.origin)
  return {
    ids: [...document.querySelectorAll('[id]')].map(element => element.id),
    links: links.map(a => ({ path: a.pathname.replace(/\/$/, '/index.html'), id: decodeURIComponent(a.hash.slice(1)) })),
  }
}

/** Gives the browser the files of the site, and nothing else: no page needs the network. */
async function serve(route) {
  const url = new URL(route.request().url())
  const path = join(site, url.pathname.replace(/\/$/, '/index.html'))
  await (url.origin === origin && existsSync(path) ? route.fulfill({ path }) : route.abort())
}

/** Opens a page of the site and returns the errors of the browser. */
async function open(tab, path) {
  const errors = []
  tab.on('console', message => message.type() === 'error' && errors.push(message.text()))
  tab.on('pageerror', error => errors.push(error.message))
  tab.on('requestfailed', request => errors.push(`cannot load ${request.url()}`))
  await tab.goto(origin + path, { waitUntil: 'networkidle' })
  await tab.waitForFunction(() => document.querySelector('#app').__vue_app__)
  return errors
}

/** Spoils a page in each way that `faults` has to find. It runs in the browser, and returns what to expect. */
function spoil() {
  document.body.insertAdjacentHTML('beforeend', `<div class="vp-doc">
    <table><tr><td style="white-space:nowrap">${'wide '.repeat(500)}</td></tr></table>
    <div style="width:5000px">wide</div><h1>twice</h1><img src="/no-such.png"><div class="VPHome"></div>
    <pre>flowchart TD\n  a --> b</pre><p style="color:#777;background:#888">pale</p></div>`)
  for (const mark of document.querySelectorAll('.vp-copy-ignore')) mark.className = ''
  return [/^the page is/, /^the table that begins with "wide/, /^it has 2 h1/, /^the image/, /^the drawing/, /^a diagram/]
}

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
    '--disable-component-update', '--disable-sync'],
})
const wrong = []
const known = new Map()
const only = process.argv[2] ?? ''
const pages = readdirSync(site, { recursive: true }).filter(path => path.endsWith('.html') && path !== '404.html' && path.includes(only)).sort()
if (pages.length < 10 && !only) wrong.push(`there are ${pages.length} pages in ${site}: run make site`)
for (const width of widths) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, permissions: ['clipboard-read', 'clipboard-write'] })
  await context.route('**/*', serve)
  for (const page of pages) {
    const tab = await context.newPage()
    const errors = await open(tab, '/' + page)
    const found = [...errors, ...await tab.evaluate(faults)]
    if (width === desk) found.push(...await copying(tab))
    if (width === desk && page === 'index.html') found.push(...await searching(tab))
    known.set('/' + page, await tab.evaluate(anchors))
    const name = page.slice(0, -'.html'.length)
    if (pictures.includes(name)) {
      await tab.screenshot({ path: join(bin, 'site-look', `${name.replace('/', '-')}-${width}.png`) })
    }
    if (width === desk) found.push(...await accessibility(tab))
    wrong.push(...found.map(fault => `${page} at ${width}: ${fault}`))
    await tab.close()
  }
  const tab = await context.newPage()
  await open(tab, '/install.html')
  const expected = await tab.evaluate(spoil)
  await tab.waitForLoadState('networkidle')
  const found = await tab.evaluate(faults)
  if (width === desk) {
    found.push(...await copying(tab), ...await searching(tab, { 'no such word': '/no-such.html' }), ...await accessibility(tab))
    expected.push(/^the button of/, /^the search for/, /^in light, color-contrast/, /^in dark, color-contrast/)
  }
  for (const want of expected) if (!found.some(fault => want.test(fault))) wrong.push(`a spoiled page at ${width} passes: ${want}`)
  await context.close()
}
for (const [page, { links }] of known) {
  for (const { path, id } of links) {
    if (path === page && !id) continue
    const target = known.get(path)
    if (!target && !existsSync(join(site, path))) wrong.push(`${page} links ${path}, which is not there`)
    else if (id && target && !target.ids.includes(id)) wrong.push(`${page} links ${path}#${id}, which is not there`)
  }
}
await browser.close()
for (const line of new Set(wrong)) console.error(line)
console.log(`site-look: ${pages.length} pages at ${widths.join(' and ')} columns: ${wrong.length ? 'failed' : 'passed'}`)
process.exit(wrong.length ? 1 : 0)
