// Package wordpress contains the steps of a person who uses WordPress in a browser: install the blog, log in, post, read. Tests of
// the whole chain share them.
package wordpress

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/chromedp/chromedp"
)

// Blog is a site of WordPress, and its administrator. The context of each method is a tab of package browser. A method fails after
// the context's end, and needs no other timeout than that of the test.
type Blog struct {
	// URL is the address of the site, without a slash at the end.
	URL string
	// Title is the name of the blog.
	Title string
	// User, Password and Email are those of the administrator. WordPress rejects weak passwords.
	User, Password, Email string
}

// Install fills in the form of a site whose database is empty, and sends it.
func (b Blog) Install(tab context.Context) error {
	fail := func(err error) error { return fmt.Errorf("install the blog at %s: %w", b.URL, err) }
	// Step 0 asks for a language, if the site reaches the list of languages.
	if err := b.open(tab, "/wp-admin/install.php?step=1"); err != nil {
		return fail(err)
	}
	if err := fill(tab, map[string]string{"#weblog_title": b.Title, "#user_login": b.User, "#admin_email": b.Email, "#pass1": b.Password}); err != nil {
		return fail(err)
	}
	if err := submit(tab, "#submit"); err != nil {
		return fail(err)
	}
	if err := expect(tab, ".install-success"); err != nil {
		return fail(err)
	}
	return nil
}

// LogIn logs the administrator in. The cookies stay in the browser.
func (b Blog) LogIn(tab context.Context) error {
	fail := func(err error) error { return fmt.Errorf("log in at %s as %s: %w", b.URL, b.User, err) }
	if err := b.open(tab, "/wp-login.php"); err != nil {
		return fail(err)
	}
	if err := fill(tab, map[string]string{"#user_login": b.User, "#user_pass": b.Password}); err != nil {
		return fail(err)
	}
	if err := submit(tab, "#wp-submit"); err != nil {
		return fail(err)
	}
	if err := expect(tab, "#wpadminbar"); err != nil {
		return fail(err)
	}
	return nil
}

// Post publishes a post in WordPress's editor, and returns the path and query of its page. The administrator must be logged in.
func (b Blog) Post(tab context.Context, title, text string) (page string, err error) {
	fail := func(err error) (string, error) { return "", fmt.Errorf("post %q at %s: %w", title, b.URL, err) }
	if err := b.open(tab, "/wp-admin/post-new.php"); err != nil {
		return fail(err)
	}
	arguments, err := json.Marshal(map[string]string{"title": title, "status": "publish",
		"content": "<!-- wp:paragraph --><p>" + text + "</p><!-- /wp:paragraph -->"})
	if err != nil {
		return fail(err)
	}
	// The editor's own store does what its buttons do. Their names and places change with each version of WordPress.
	link, err := chromedp.Run(tab, chromedp.Evaluate[string](`(async () => {
		const state = wp.data.select("core/editor"), actions = wp.data.dispatch("core/editor");
		while (!state.getCurrentPostId()) { await new Promise(resolve => setTimeout(resolve, 50)); }
		await actions.editPost(`+string(arguments)+`);
		await actions.savePost();
		if (!state.didPostSaveRequestSucceed()) { throw new Error("the editor could not save the post"); }
		return state.getCurrentPost().link;
	})()`, chromedp.EvalAwaitPromise))
	if err != nil {
		return fail(err)
	}
	// The site names itself by the address at its installation, and its port may have changed.
	_, rest, found := strings.Cut(link, "://")
	_, page, named := strings.Cut(rest, "/")
	if !found || !named {
		return fail(fmt.Errorf("the link of the post is %q", link))
	}
	return "/" + page, nil
}

// Read opens the page of a post, and returns its title and text.
func (b Blog) Read(tab context.Context, page string) (title, text string, err error) {
	fail := func(err error) (string, string, error) {
		return "", "", fmt.Errorf("read %s at %s: %w", page, b.URL, err)
	}
	if err := b.open(tab, page); err != nil {
		return fail(err)
	}
	if title, err = chromedp.Run(tab, chromedp.Text(chromedp.CSS(".wp-block-post-title"))); err != nil {
		return fail(err)
	}
	if text, err = chromedp.Run(tab, chromedp.Text(chromedp.CSS(".wp-block-post-content p"))); err != nil {
		return fail(err)
	}
	return title, text, nil
}

// Picture returns a picture of the tab's page as PNG.
func Picture(tab context.Context) ([]byte, error) {
	return chromedp.Run(tab, chromedp.CaptureScreenshot())
}

// open opens a page of the blog, and fails if its status is not 200.
func (b Blog) open(tab context.Context, page string) error {
	response, err := chromedp.RunResponse(tab, chromedp.Navigate(b.URL+page))
	if err == nil && response.Status != 200 {
		err = fmt.Errorf("%s answers %d %s", page, response.Status, response.StatusText)
	}
	return err
}

// fill enters values into the fields of a form. It sends the events of a person's keys, but no keys: the login page moves the
// focus while a person may type.
func fill(tab context.Context, fields map[string]string) error {
	for selector, value := range fields {
		arguments, err := json.Marshal([]string{selector, value})
		if err != nil {
			return err
		}
		if err := chromedp.Do(tab, chromedp.WaitVisible(chromedp.CSS(selector))); err != nil {
			return fmt.Errorf("field %s: %w", selector, err)
		}
		_, err = chromedp.Run(tab, chromedp.Evaluate[bool](`((selector, value) => {
			const field = document.querySelector(selector);
			field.value = value;
			for (const name of ["input", "keyup", "change"]) { field.dispatchEvent(new Event(name, {bubbles: true})); }
			return true;
		})(...`+string(arguments)+`)`))
		if err != nil {
			return fmt.Errorf("field %s: %w", selector, err)
		}
	}
	return nil
}

// submit clicks a button as soon as it is enabled, and waits for the next page.
func submit(tab context.Context, selector string) error {
	button := chromedp.CSS(selector)
	if err := chromedp.Do(tab, chromedp.WaitEnabled(button)); err != nil {
		return err
	}
	_, err := chromedp.RunResponse(tab, chromedp.Click(button))
	return err
}

// expect returns an error with the page's text if the page has no such element.
func expect(tab context.Context, selector string) error {
	name, err := json.Marshal(selector)
	if err != nil {
		return err
	}
	text, err := chromedp.Run(tab, chromedp.Evaluate[string](`document.querySelector(`+string(name)+`) ? "" : "the page says: " + document.body.innerText`))
	if err == nil && text != "" {
		err = errors.New(strings.Join(strings.Fields(text), " "))
	}
	return err
}
